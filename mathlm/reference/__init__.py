"""NumPy reference: ``f`` returns ``(y, cache)``, ``f_backward(dy, cache)`` its VJP."""

from .affine import linear, linear_backward
from .attention import dot_product_attention, dot_product_attention_backward
from .decomposition import covariance, effective_rank, energy_kept, low_rank, pca, pca_by_svd
from .gradcheck import numerical_gradient, numerical_vjp
from .information import cross_entropy, entropy, js_divergence, kl_divergence
from .linear_algebra import (
    coordinates,
    cosine_similarity,
    determinant,
    eigenvalues_2x2,
    frobenius_norm,
    gram_schmidt,
    p_norm,
    power_iteration,
    projection,
    signed_area,
)
from .logits import (
    log_softmax,
    log_softmax_backward,
    logsumexp,
    logsumexp_backward,
    softmax,
    softmax_backward,
    softmax_jacobian,
)
from .normalization import layer_norm, layer_norm_backward, rms_norm, rms_norm_backward

__all__ = [
    "coordinates",
    "cosine_similarity",
    "covariance",
    "cross_entropy",
    "determinant",
    "dot_product_attention",
    "dot_product_attention_backward",
    "effective_rank",
    "eigenvalues_2x2",
    "energy_kept",
    "entropy",
    "frobenius_norm",
    "gram_schmidt",
    "js_divergence",
    "kl_divergence",
    "layer_norm",
    "layer_norm_backward",
    "linear",
    "linear_backward",
    "log_softmax",
    "log_softmax_backward",
    "logsumexp",
    "logsumexp_backward",
    "low_rank",
    "numerical_gradient",
    "numerical_vjp",
    "p_norm",
    "pca",
    "pca_by_svd",
    "power_iteration",
    "projection",
    "rms_norm",
    "rms_norm_backward",
    "signed_area",
    "softmax",
    "softmax_backward",
    "softmax_jacobian",
]
