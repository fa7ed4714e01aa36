"""MatTools (arXiv 2505.10852): real-world tool usage, its published rules, and multiple choice."""
