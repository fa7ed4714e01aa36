"""Names for systems, benchmarks and sources of one's own, alike in a wheel and a checkout."""

from agents import answer_formats, prompts
from agents.answer import CodeAnswer
from agents.base import Agent, Document, Image, Question, StopReason, Trajectory
from agents.episode import Context, Episode, System
from experiments.benchmarks.own import Task, json_samples
from experiments.export.task import inspect_task
from experiments.samples import Property, Sample
from experiments.scorers.base import Metric, Score, Scorer, ScoringContext
from experiments.scorers.grading import accuracy
from experiments.scorers.properties import PropertyScorer

__all__ = [
    "Agent",
    "CodeAnswer",
    "Context",
    "Document",
    "Episode",
    "Image",
    "Metric",
    "Property",
    "PropertyScorer",
    "Question",
    "Sample",
    "Score",
    "Scorer",
    "ScoringContext",
    "StopReason",
    "System",
    "Task",
    "Trajectory",
    "accuracy",
    "answer_formats",
    "inspect_task",
    "json_samples",
    "prompts",
]
