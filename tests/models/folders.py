"""Change what a folder of a pretrained model holds."""

import json

from mathlm.models import load_weights
from mathlm.models.files.weights import to_bytes


def change_config(folder, **changes):
    """Give fields of ``config.json`` other values; "absent" removes a field."""
    path = folder / "config.json"
    fields = json.loads(path.read_text()) | changes
    path.write_text(json.dumps({k: v for k, v in fields.items() if v != "absent"}))


def change_weights(folder, change):
    """Write the tensors anew, after ``change`` has altered the dictionary of them."""
    tensors = load_weights(folder)
    change(tensors)
    (folder / "model.safetensors").write_bytes(to_bytes(tensors))
