"""Pictures, tables and files made of mechanisms and results; nothing here computes physics."""
