"""OmniMatBench (arXiv 2605.29833): questions from materials textbooks, as slots and as prose."""
