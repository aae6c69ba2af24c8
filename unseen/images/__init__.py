"""Photos and class names: image and text encoders, and what is done with them."""

from unseen.images.encoder import (
    ImageEncoder,
    TextEncoder,
    image_encoder,
    image_encoders,
    register_image_encoder,
    register_text_encoder,
    text_encoder,
    text_encoders,
)

__all__ = [
    "ImageEncoder",
    "TextEncoder",
    "image_encoder",
    "image_encoders",
    "register_image_encoder",
    "register_text_encoder",
    "text_encoder",
    "text_encoders",
]
