"""Names for plug-ins of your own, alike in a wheel and in a checkout (docs/extending.md)."""

from agents import answer_formats, prompts
from agents.answer import CodeAnswer
from agents.base import Agent, Document, Image, Question, StopReason, Trajectory
from agents.episode import Context, Episode, System
from experiments.benchmarks.own import Task, json_samples
from experiments.export.task import inspect_task
from experiments.run.launcher import Executor, Launcher, LocalLauncher
from experiments.samples import Property, Sample
from experiments.scorers.base import Metric, Score, Scorer, ScoringContext
from experiments.scorers.grading import accuracy
from experiments.scorers.properties import PropertyScorer
from indexes.vectors import Embedding
from retrieval.base import Hit
from retrieval.ranking import RankingMethod
from retrieval.reranker import Reranker
from sandbox.base import SandboxConfig
from sandbox.bytecode import bubblewrap
from sandbox.worker import Backend

__all__ = [
    "Agent",
    "Backend",
    "CodeAnswer",
    "Context",
    "Document",
    "Embedding",
    "Episode",
    "Executor",
    "Hit",
    "Image",
    "Launcher",
    "LocalLauncher",
    "Metric",
    "Property",
    "PropertyScorer",
    "Question",
    "RankingMethod",
    "Reranker",
    "Sample",
    "SandboxConfig",
    "Score",
    "Scorer",
    "ScoringContext",
    "StopReason",
    "System",
    "Task",
    "Trajectory",
    "accuracy",
    "answer_formats",
    "bubblewrap",
    "inspect_task",
    "json_samples",
    "prompts",
]
