"""Put a defect that hit a trusted library into the package: the test named beside it must fail.

    python tools/historic_bugs.py             all of them, one after the other
    python tools/historic_bugs.py NAME ...    those whose names begin so

Each defect is one replacement in one file, made in a copy of the package. A defect under which
its test passes means that the test would not have caught it, and ends the run with 1.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import pytest
import torch  # noqa: F401  once, and not for each defect

ROOT = Path(__file__).resolve().parents[1]
LOG, BROKEN = "pytest.log", 70
OPTIONS = "-q --import-mode=importlib --strict-markers"


class Defect(NamedTuple):
    """A replacement in one file, and the test that must notice it."""

    name: str
    file: str  # in mathlm/
    old: str
    new: str
    test: str  # in tests/


DEFECTS = [
    # --- losses, normalization, the training step -------------------------------------------
    Defect(
        "mean of the means of micro-batches",
        "train/trainer.py",
        "(batch_sum * scale).backward()",
        "(batch_sum * scale / max(1, batch_count)).backward()",
        "train/test_trainer.py::test_loss_and_gradient_do_not_depend_on_the_split",
    ),
    Defect(
        "gradient divided twice under accumulation",
        "train/trainer.py",
        "self.scale_gradients(1 / (targets * scale))",
        "self.scale_gradients(1 / (targets * scale * len(micro_batches)))",
        "train/test_trainer.py::test_gradient_norm_is_that_of_the_mean_over_targets",
    ),
    Defect(
        "last incomplete window scaled as a full one",
        "train/trainer.py",
        "self.scale_gradients(1 / (targets * scale))",
        "self.scale_gradients(len(micro_batches) / (targets * self.config.micro_batches))",
        "train/test_trainer.py::test_last_incomplete_batch_of_an_epoch_is_a_step_of_its_own",
    ),
    Defect(
        "gradients of one window left for the next",
        "train/trainer.py",
        "            self.optimizer.zero_grad()\n            self.model.zero_grad()  # also",
        "            pass  # also",
        "train/test_trainer.py::test_no_gradient_is_left_after_an_epoch",
    ),
    Defect(
        "no targets give NaN",
        "functional/loss.py",
        'if number == 0 and empty == "error":',
        'if number == 0 and empty == "never":',
        "functional/test_loss.py::test_no_targets_at_all_are_an_error",
    ),
    Defect(
        "label smoothing left out",
        "functional/loss.py",
        "        label_smoothing=label_smoothing,\n        reduction",
        "        label_smoothing=0.0,\n        reduction",
        "functional/test_loss.py::test_loss_of_each_target_matches_loops",
    ),
    Defect(
        "standard deviation with N - 1",
        "reference/network/normalization.py",
        'rstd = _reciprocal_root(_mean_square(centered, -1), eps, "variance")',
        "n = x.shape[-1]\n    var = _mean_square(centered, -1) * n / (n - 1)\n"
        '    rstd = _reciprocal_root(var, eps, "variance")',
        "reference/network/test_normalization.py::test_layer_norm_of_1_2_3_4_by_hand",
    ),
    Defect(
        "epsilon of the file ignored",
        "models/files/gpt.py",
        '    if type(sizes["norm_eps"]) is int:',
        '    sizes["norm_eps"] = 1e-5\n    if type(sizes["norm_eps"]) is int:',
        "models/files/test_gpt_folder.py::test_the_epsilon_of_the_file_is_used",
    ),
    Defect(
        "cross-entropy in bfloat16",
        "functional/loss.py",
        "logits = logits.float()\n    weight = None",
        "logits = logits + 0\n    weight = None",
        "functional/test_loss.py::test_half_precision_logits_give_a_float32_loss",
    ),
    Defect(
        "NaN loss taken as a step",
        "train/trainer.py",
        "        self.refuse(loss_sum, sums, micro_batches)\n",
        "",
        "train/test_trainer.py::test_nan_loss_stops_before_the_weights_change",
    ),
    # --- attention, positions, weights ------------------------------------------------------
    Defect(
        "row that sees nothing is NaN",
        "functional/attention.py",
        "lowest = torch.finfo(scores.dtype).min",
        "lowest = -math.inf",
        "functional/test_attention.py::test_a_query_that_sees_nothing_gives_zero_and_gradient"
        "_zero",
    ),
    Defect(
        "NaN of hidden keys leaks",
        "functional/attention.py",
        "k.masked_fill(unseen, 0.0), v.masked_fill(unseen, 0.0)",
        "k, v",
        "functional/test_attention.py::test_what_stands_in_unseen_keys_and_values_does_not"
        "_matter",
    ),
    Defect(
        "causal mask aligned with the first key",
        "functional/attention.py",
        ".tril(S - T)",
        ".tril(0)",
        "functional/test_attention.py::test_the_last_queries_are_aligned_with_the_last_keys",
    ),
    Defect(
        "positions count padding on the left",
        "models/layout.py",
        "return (padding.cumsum(1) - 1).clamp(min=0)",
        "return torch.arange(past + ids.shape[1], device=ids.device).expand(len(ids), -1)",
        "models/test_gpt.py::test_padding_on_either_side_changes_nothing_at_real_tokens",
    ),
    Defect(
        "cache forgets how many tokens it has",
        "layers/cache.py",
        "self.length, self.held = self.length + T, end\n        return self.k.narrow",
        "self.length, self.held = self.length + 1, end\n        return self.k.narrow",
        "models/test_gpt.py::test_every_split_into_prefill_and_decode_gives_the_same_logits",
    ),
    Defect(
        "rotary pairs interleaved where they are half-split",
        "functional/position.py",
        "    a, b = x.chunk(2, -1)\n    turned = torch.cat(",
        "    a, b = x[..., 0::2], x[..., 1::2]\n    turned = torch.cat(",
        "models/test_parity.py::test_float32_logits_agree_to_1e_5",
    ),
    Defect(
        "packed documents see each other",
        "train/objectives.py",
        "model(ids, mask=document_mask(documents), positions=document_positions(documents))",
        "model(ids, positions=document_positions(documents))",
        "train/test_objectives.py::test_a_packed_document_is_read_as_if_it_were_alone",
    ),
    Defect(
        "label crosses the border of two documents",
        "text/packing.py",
        "following = texts[number][start + 1 : end + 1]",
        "following = np.append(texts[number][start + 1 : end + 1], 0)[: end - start]",
        "text/test_packing.py::test_no_target_crosses_a_border",
    ),
    Defect(
        "square matrix not transposed",
        "models/files/gpt.py",
        "if transposed and tensor.ndim == 2 and TRANSPOSED.fullmatch(name):",
        "if transposed and tensor.ndim == 2 and TRANSPOSED.fullmatch(name) "
        "and len(tensor) != tensor.shape[1]:",
        "models/files/test_gpt_folder.py::test_it_computes_what_transformers_computes",
    ),
    Defect(
        "another GELU than the file's",
        "models/files/gpt.py",
        '"gelu_new": "gelu_tanh"',
        '"gelu_new": "gelu"',
        "models/files/test_gpt_folder.py::test_it_computes_what_transformers_computes",
    ),
    Defect(
        "tied weights are two tensors",
        "models/gpt.py",
        "self.head.weight = self.token_embedding.weight",
        "self.head.weight = nn.Parameter(self.token_embedding.weight.detach().clone())",
        "models/test_gpt.py::test_tied_embeddings_share_one_tensor",
    ),
    # --- preferences, tuning, reward models -------------------------------------------------
    Defect(
        "the first token of the answer is not scored",
        "align/preference/data.py",
        "(np.arange(len(chat)) >= start)",
        "(np.arange(len(chat)) >= start + 1)",
        "align/preference/test_data_preference_pairs.py::test_the_answer_and_the_end_of_its_turn_are_asked_and"
        "_nothing_before",
    ),
    Defect(
        "dropout while policy and reference are compared",
        "align/answers.py",
        "    with evaluating(model):\n        asked = asked_places(batch)",
        "    if True:\n        asked = asked_places(batch)",
        "align/preference/test_objectives_preference.py::test_a_policy_that_is_its_reference_has_loss_log"
        "_2_although_it_drops_out",
    ),
    Defect(
        "IPO with the margin of DPO",
        "align/preference/losses.py",
        "h = margin_of(reward_chosen, reward_rejected) / beta",
        "h = margin_of(reward_chosen, reward_rejected)",
        "align/preference/test_losses_preference.py::test_the_values_that_others_got_wrong",
    ),
    Defect(
        "pairs kept whose prompt fills the context",
        "align/preference/data.py",
        "    if start >= context:\n        return FULL\n",
        "",
        "align/preference/test_data_preference_pairs.py::test_what_cannot_be_learned_from_is_left_out_counted"
        "_and_logged_once",
    ),
    Defect(
        "log(1 - exp(x)) as it is written",
        "functional/loss.py",
        "near = torch.log(-torch.expm1(x))",
        "near = torch.log(1 - torch.exp(x))",
        "functional/test_loss_log_complement.py::test_it_is_the_logarithm_of_what_is_left",
    ),
    Defect(
        "padding is part of the length of an answer",
        "align/preference/objectives.py",
        'lengths = (both["targets"] != IGNORED).sum(1).unflatten(0, (2, -1))',
        'lengths = (both["targets"] != IGNORED).sum(1).unflatten(0, (2, -1))\n'
        '    lengths = torch.full_like(lengths, both["targets"].shape[1])',
        "align/preference/test_objectives_preference.py::test_neither_padding_nor_its_id_changes_loss_or"
        "_gradient",
    ),
    Defect(
        "two tokens at the beginning of a chat",
        "text/chat.py",
        "None if self.bos is None else specials[self.bos])\n",
        "None if self.bos is None else specials[self.bos])\n"
        "        if self.bos is not None:\n            chat.special(specials[self.bos])\n",
        "align/test_sft.py::test_there_is_exactly_one_bos_in_every_chat",
    ),
    Defect(
        "the end of a turn masked, as it is the padding too",
        "align/sft.py",
        'return {"ids": ids, "targets": asked}',
        'return {"ids": ids, "targets": asked.masked_fill(asked == pad_id, IGNORED)}',
        "align/test_sft_chat_batches.py::test_the_end_of_a_turn_is_asked_for_where_it_also_is_the"
        "_padding",
    ),
    Defect(
        "reward read at the number of tokens",
        "align/reward/model.py",
        "return ids.shape[1] - 1 - mask.flip(1).to(torch.uint8).argmax(1)",
        "return mask.sum(1) - 1",
        "align/reward/test_model.py::test_padding_changes_no_reward",
    ),
    Defect(
        "reward read before the first padding id",
        "align/reward/model.py",
        "return ids.shape[1] - 1 - mask.flip(1).to(torch.uint8).argmax(1)",
        "return ids.shape[1] - 1 - (ids != 0).flip(1).to(torch.uint8).argmax(1)",
        "align/reward/test_model.py::test_padding_changes_no_reward",
    ),
    Defect(
        "policy is its own reference",
        "align/reference_model.py",
        "    if other is unwrap(policy):",
        "    if other is None:",
        "align/test_reference_model.py::test_a_policy_is_not_its_own_reference",
    ),
    # --- policies, advantages, divergence ---------------------------------------------------
    Defect(
        "k3 with the ratio upside down",
        "align/policy/kl.py",
        "return torch.expm1(log_r) - log_r",
        "return torch.expm1(-log_r) + log_r",
        "align/policy/test_kl.py::test_k1_and_k3_are_unbiased_as_values",
    ),
    Defect(
        "divergence of padding",
        "align/policy/kl.py",
        "return counted(logp_ref - logp, mask)",
        "return logp_ref - logp",
        "align/policy/test_kl.py::test_what_the_mask_leaves_out_changes_no_bit",
    ),
    Defect(
        "rewards of padding leak into advantages",
        "align/policy/advantages.py",
        "rewards, values = counted(rewards, mask), counted(values, mask)\n    after",
        "after",
        "align/policy/test_advantages.py::test_what_the_mask_leaves_out_changes_no_bit",
    ),
    Defect(
        "a token of a long answer weighs as one of a padded row",
        "align/policy/aggregation.py",
        "    return total / lengths",
        "    return total / loss.shape[1]",
        "align/policy/test_aggregation.py::test_two_answers_of_one_and_three_tokens_by_hand",
    ),
    Defect(
        "log-probabilities divided in place of logits",
        "align/answers.py",
        'token_cross_entropy(divided(logits, temperature), batch["targets"][asked])',
        'token_cross_entropy(divided(logits, 1), batch["targets"][asked]) / temperature',
        "align/policy/test_losses_policy.py::test_log_probabilities_that_are_divided_in_place_of_the"
        "_logits_are_noticed",
    ),
    Defect(
        "equal rewards with an advantage of rounding",
        "align/policy/advantages.py",
        "above = rewards - rewards[:, :1]",
        "above = rewards + 0",
        "align/policy/test_advantages.py::test_equal_rewards_give_exactly_zero",
    ),
    Defect(
        "noise divided by its own spread",
        "align/policy/advantages.py",
        "GROUP_EPS = 1e-4",
        "GROUP_EPS = 1e-8",
        "align/policy/test_advantages.py::test_noise_far_below_eps_is_not_blown_up",
    ),
    Defect(
        "a reward that is NaN poisons its group",
        "align/policy/advantages.py",
        '    require_finite(rewards, "reward", "group", "sample")\n',
        "",
        "align/policy/test_advantages.py::test_a_reward_that_is_no_number_is_named_and_poisons_nothing",
    ),
    Defect(
        "a cut text taken for one that ended",
        "align/policy/advantages.py",
        "after = _last_value(last_value, values)",
        "after = _last_value(0.0, values)",
        "align/policy/test_advantages.py::test_a_text_that_was_cut_takes_the_value_of_where_it_broke"
        "_off",
    ),
    Defect(
        "epsilon before the bias correction",
        "optim/adam.py",
        'group["lr"] * m_hat / (v_hat.sqrt() + group["eps"])',
        'group["lr"] * m_hat / (v_hat.sqrt() + group["eps"] / (1 - b2**t) ** 0.5)',
        "optim/test_adam.py::test_tiny_gradients_move_as_in_torch",
    ),
    Defect(
        "clipped where it may not be",
        "align/policy/losses.py",
        "torch.where(A >= 0, gained, lost)",
        "log_rho.clamp(math.log1p(-clip_low), math.log1p(clip_high))",
        "align/policy/test_losses_policy.py::test_ratios_far_above_and_below_one",
    ),
    Defect(
        "weights that have moved taken for those that wrote",
        "align/policy/read_once.py",
        "            and state == self.state\n",
        "",
        "align/policy/test_read_once.py::test_a_change_of_weights_or_texts_is_seen",
    ),
    # --- tokenizers and generation ----------------------------------------------------------
    Defect(
        "ties broken by the order of the text",
        "text/tokenizers/bpe.py",
        "key=lambda p: (-counts[p], order(p[0]), order(p[1]))",
        "key=lambda p: -counts[p]",
        "text/tokenizers/test_bpe_merges.py::test_ties_go_to_the_bytes_that_come_first",
    ),
    Defect(
        "the fast trainer loses a pair that is still there",
        "text/tokenizers/bpe.py",
        "            heapq.heappush(heap, entry(pair))\n        elif",
        "            pass\n        elif",
        "text/tokenizers/test_bpe_merges.py::test_the_fast_trainer_equals_the_naive_one_on_1000_corpora",
    ),
    Defect(
        "bytes that are no text are lost",
        "text/tokenizers/byte_bpe.py",
        'data.decode("utf-8", "surrogateescape")',
        'data.decode("utf-8", "replace")',
        "text/tokenizers/test_byte_bpe.py::test_any_bytes_survive",
    ),
    Defect(
        "text becomes a special token",
        "text/tokenizers/byte_bpe.py",
        "allowed = require_allowed(allowed_special, self._definition.special)",
        "allowed = set(self._definition.special)",
        "text/tokenizers/test_byte_bpe.py::test_no_text_becomes_a_special_token",
    ),
    Defect(
        "top-p keeps nothing",
        "generate/truncation.py",
        "        before[..., 0] = -1.0  # nothing stands before the first\n",
        "",
        "generate/test_sampling.py::test_top_p_keeps_the_smallest_prefix_that_reaches_the_mass",
    ),
    Defect(
        "top-p keeps the wrong side",
        "generate/truncation.py",
        "return score.argsort(dim=-1, descending=True, stable=True)",
        "return score.argsort(dim=-1, descending=False, stable=True)",
        "generate/test_sampling.py::test_top_p_keeps_the_smallest_prefix_that_reaches_the_mass",
    ),
    Defect(
        "temperature after top-k and top-p",
        "generate/sampling.py",
        "        logits = (logits - largest) / self.temperature\n"
        "        if self.top_k is not None:\n"
        "            logits = logits.masked_fill(~keep_top_k(logits, self.top_k), -math.inf)\n"
        "        return self._truncate(logits.softmax(-1))",
        "        p = self._truncate((logits - largest).softmax(-1))\n"
        "        return (p.log() / self.temperature).softmax(-1)",
        "generate/test_sampling.py::test_temperature_comes_before_top_p",
    ),
    Defect(
        "temperature 0 gives token 0",
        "generate/sampling.py",
        "first = (logits == largest).int().argmax(-1, keepdim=True)",
        "first = torch.zeros_like(largest, dtype=torch.int64)",
        "generate/test_sampling.py::test_temperature_zero_takes_the_lowest_of_the_likeliest_ids",
    ),
    Defect(
        "the first token drawn once for all rows",
        "generate/decoding.py",
        "np.random.default_rng(None if seed is None else (seed, first_row + i))",
        "np.random.default_rng(None if seed is None else seed)",
        "generate/test_decoding.py::test_sixteen_equal_prompts_do_not_begin_alike",
    ),
    # --- loops, checkpoints, adapters, files ------------------------------------------------
    Defect(
        "clipped before the loss scale is taken off",
        "train/trainer.py",
        "            norm = self.clip(micro_batches)\n            self.update(norm)",
        "            unscale = self.scaling.scale if self.scaling else 1.0\n"
        "            self.scale_gradients(unscale)\n"
        "            norm = self.clip(micro_batches)\n"
        "            self.scale_gradients(1 / unscale)\n"
        "            self.update(norm)",
        "train/test_precision.py::test_the_update_does_not_depend_on_the_loss_scale",
    ),
    Defect(
        "step size of another step after a resume",
        "train/trainer.py",
        "scheduled(self.config.schedule, self.step - self.skipped)",
        "scheduled(self.config.schedule, self.step - self.skipped + (self.saved > 0))",
        "train/test_checkpoint.py::test_the_learning_rates_after_a_resume_are_those_of_the"
        "_unbroken_run",
    ),
    Defect(
        "another permutation after a resume",
        "train/windows.py",
        "order = epoch_order(self.windows, self.seed, epoch)",
        'self.calls = getattr(self, "calls", -1) + 1\n'
        "        order = epoch_order(self.windows, self.seed, self.calls)",
        "train/test_checkpoint.py::test_the_tokens_after_a_resume_are_those_of_the_unbroken_run",
    ),
    Defect(
        "dropout drawn anew after a resume",
        "train/trainer.py",
        "seed_torch(self.config.seed, self.step, rank())",
        "seed_torch(self.config.seed, id(self), rank())",
        "train/test_checkpoint.py::test_a_run_resumed_at_any_step_equals_the_unbroken_run",
    ),
    Defect(
        "unfinished checkpoint left where the disk was full",
        "train/folders.py",
        "BaseException:\n        shutil.rmtree(temp, ignore_errors=True)\n        raise",
        "BaseException:\n        raise",
        "faults/test_training_faults.py::test_a_full_disk_keeps_the_old_checkpoint",
    ),
    Defect(
        "corruption not looked for",
        "train/checkpoint.py",
        "    verify_folder(path)\n",
        "",
        "train/test_checkpoint.py::test_any_flipped_byte_is_found",
    ),
    Defect(
        "merged in the dtype of the weights",
        "functional/low_rank.py",
        "return (W.to(wide) + scale * (B.to(wide) @ A.to(wide))).to(W.dtype)",
        "return W + (scale * (B @ A)).to(W.dtype)",
        "adapt/test_lora_merging.py::test_in_bfloat16_the_merged_weights_are_the_rounded_sums",
    ),
    Defect(
        "an adapter on a tied head changes the embedding",
        "adapt/lora.py",
        "if others and not untie:",
        "if others and untie is None:",
        "adapt/test_lora.py::test_a_tied_head_is_refused_unless_it_gets_a_copy",
    ),
    # --- n-grams, interpretability ----------------------------------------------------------
    Defect(
        "Kneser-Ney with plain counts below",
        "text/ngrams.py",
        "tables.insert(0, count_table(*grams, V))",
        "tables.insert(0, counts.tables[n - 1])",
        "text/test_ngrams_ngram.py::test_words_rank_glasses_above_francisco",
    ),
    Defect(
        "logit lens without its normalization",
        "interpret/lens.py",
        "gpt.head(gpt.final_norm(x))",
        "gpt.head(x)",
        "interpret/test_lens.py::test_each_depth_says_what_the_model_says_that_ends_there",
    ),
    Defect(
        "one maximum for all rows of a logsumexp",
        "reference/statistics/softmax.py",
        "    highest = z.max(axis, keepdims=True)\n    highest[",
        "    highest = np.full_like(z.max(axis, keepdims=True), z.max())\n    highest[",
        "reference/statistics/test_softmax.py::test_logsumexp_takes_the_maximum_of_each_row",
    ),
    Defect(
        "one maximum for all rows of an attention",
        "reference/network/attention.py",
        "highest = visible.max(-1, keepdims=True)",
        "highest = np.full_like(visible.max(-1, keepdims=True), visible.max())",
        "reference/network/test_attention.py::test_rows_of_scores_near_zero_and_near_ten_thousand_live"
        "_together",
    ),
    Defect(
        "one maximum for all rows of a partial softmax",
        "reference/network/flash.py",
        "maximum = scores.max(-1, initial=-np.inf)",
        "maximum = np.full_like(scores.max(-1, initial=-np.inf), scores.max())",
        "reference/network/test_flash_partial_softmax.py::test_rows_near_zero_and_near_ten_thousand_live"
        "_together",
    ),
]


def applied(defect: Defect, folder: Path) -> None:
    """Copy package and tests into ``folder``, compiled files too, and put the defect in."""
    for name in ("book/lab", "mathlm", "tests", "tools"):
        shutil.copytree(ROOT / name, folder / name)
    shutil.copy(ROOT / "pyproject.toml", folder)
    file = folder / "mathlm" / defect.file
    text = file.read_text(encoding="utf-8")
    if text.count(defect.old) != 1:
        raise SystemExit(f"{defect.name}: {defect.file} holds {defect.old!r} not once")
    file.write_text(text.replace(defect.old, defect.new), encoding="utf-8")


def noticed(defect: Defect) -> bool:
    """Whether the test fails with the defect in: a child runs it, forked with torch loaded."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        applied(defect, folder)
        child = os.fork()
        if child == 0:
            code = BROKEN
            try:
                code = run_test(folder, defect.test)
            finally:
                os._exit(code)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        said = (folder / LOG).read_text(encoding="utf-8")
    if code and "\nFAILED tests/" not in said:  # no test was run: a wrong name, or worse
        raise SystemExit(f"{defect.name}: pytest ended {code}\n{said}")
    return code == 1


def run_test(folder: Path, test: str) -> int:
    """What pytest says of a test of the copy, in this process; its words go to a file.

    Annotations are not checked: reading the package with checks takes long, and a defect is to
    be noticed by its numbers.
    """
    os.chdir(folder)
    log = os.open(LOG, os.O_CREAT | os.O_WRONLY)
    os.dup2(log, 1)
    os.dup2(log, 2)
    sys.path[:0] = [str(folder)]
    os.environ["PYTHONPATH"] = str(folder)
    options = ["-x", "-p", "no:cacheprovider", "-o", f"addopts={OPTIONS}"]
    return int(pytest.main([*options, f"tests/{test}"]))


def main(names: list[str]) -> int:
    """Print one line for each defect; 1 if a test passes under one."""
    chosen = [d for d in DEFECTS if not names or any(d.name.startswith(n) for n in names)]
    passed = 0
    for defect in chosen:
        start = time.perf_counter()
        found = noticed(defect)
        passed += not found
        seconds = time.perf_counter() - start
        print(
            f"{'noticed' if found else 'PASSED '} {seconds:5.1f} s  {defect.name}", flush=True
        )
    print(f"{len(chosen) - passed} of {len(chosen)} defects were noticed")
    return passed > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
