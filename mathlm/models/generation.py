"""Models that write: :func:`mathlm.generate.generate` as a method."""

from typing import Any

from torch import Tensor


class Generates:
    """Gives a causal language model its method ``generate``."""

    def generate(
        self,
        ids: Tensor,
        max_new_tokens: int,
        temperature: float | int = 1.0,
        top_k: int | None = None,
        top_p: float | int | None = None,
        seed: int | None = None,
        **options: Any,
    ) -> Tensor:
        """Continue each row of ``ids``: :func:`mathlm.generate.generate` of this model.

        Args:
            ids: Prompts (B, T), int64.
            max_new_tokens: Tokens to add to each row, at most.
            temperature: Divides the logits; 0 takes the likeliest token.
            top_k: Draw from the k likeliest tokens; None = from all.
            top_p: Draw from the fewest tokens of this joint probability; None = from all.
            seed: Of the random numbers; None = fresh ones.
            options: The others of that function: ``mask`` of a padded batch, ``stop``,
                ``constraint``, ``sampler``, ``min_p`` and so on.

        Returns:
            Ids with the prompt in front, (B, T + n).

        Raises:
            InputError, InputTypeError: As that function.
        """
        from ..generate import generate  # a later part, which needs models: loaded when called

        plain = temperature, top_k, top_p, seed
        return generate(self, ids, max_new_tokens, *plain, **options)  # type: ignore[arg-type]
