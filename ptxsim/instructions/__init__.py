"""PTX instructions: one small function each, which registers itself by name; registry.py explains the kinds."""
