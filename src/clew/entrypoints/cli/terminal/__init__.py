"""The interactive terminal: what is finished scrolls away, below it lives a small part that is drawn anew."""
