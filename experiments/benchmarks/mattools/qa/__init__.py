"""Multiple-choice questions: files, asking, answers."""
