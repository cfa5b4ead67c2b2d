"""Documents of memory: what they say, how they change, what is wrong with them."""
