"""The decoder block of the reference, apart from the torch half that judges it."""

from mathlm.reference import decoder_block, decoder_block_backward
from mathlm.reference.network import decoder_block as module

__all__ = ["decoder_block", "decoder_block_backward", "module"]
