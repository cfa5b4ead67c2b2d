"""What the code index holds and how a question is matched against it. Pure: the store brings the numbers."""
