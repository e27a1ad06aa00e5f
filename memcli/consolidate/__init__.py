"""Turn conversations into history and memories."""
