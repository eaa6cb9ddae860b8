"""Models as files: safetensors, Hugging Face folders, GGUF."""

__all__: list[str] = []
