"""A moving demo of pretraining: what a model writes as it learns; its script is samples.js."""

from collections.abc import Sequence

from mathlm.plot.demo import Demo, live_text, script_beside, slider, value


def samples_demo(tokens: Sequence[int], bits: Sequence[float], samples: Sequence[str]) -> Demo:
    """What a model writes at several points of its training, one below the other by a slider.

    Args:
        tokens: Bytes seen at each point.
        bits: Cost of the held-out text there [bits/byte].
        samples: What the model wrote, from the same prompt and seed.
    """
    last = len(samples) - 1
    state = {
        "tokens": [f"{t:,}" for t in tokens],
        "bits": [f"{b:.2f}" for b in bits],
        "samples": list(samples),
    }
    line = live_text(
        f"after {value('tokens', state['tokens'][last])} bytes, "
        f"{value('bits', state['bits'][last])} bits per held-out byte"
    )
    shown = value("sample", samples[last]).replace("<b ", "<div class='sample' ", 1)
    return Demo(
        kind="training-samples",
        title="What the model writes as it learns",
        hint="Move the slider from the first checkpoint to the last.",
        view=line + shown.replace("</b>", "</div>"),
        state=state,
        controls=slider("point", "evaluation", 0, last, 1, last),
        css=".mathlm-demo .sample{white-space:pre-wrap;font-family:ui-monospace,monospace;"
        "font-size:.85rem;min-height:14rem;border-top:1px solid var(--line);padding-top:.5rem}",
        script=script_beside(__file__, "samples"),
    )


__all__ = ["samples_demo"]
