"""Compiled building blocks: numbers in, numbers out. Validation and names live in the user layer."""
