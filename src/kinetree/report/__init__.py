"""Pictures, tables and files made of mechanisms and results; of physics only poses are computed here."""
