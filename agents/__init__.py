"""Architectures and the models they speak to: question in, trajectory out."""
