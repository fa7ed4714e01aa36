"""How an answer is judged: each scorer turns an answer and its target into named values."""
