"""MLflow: an audit is logged to a run, and a learner's policy is a model that others can load."""

import tempfile
from pathlib import Path
from typing import Any

from likewise.audits.result import Audit
from likewise.errors import missing
from likewise.learner import State, load_state, save_state
from likewise.learner.fold import current_scores
from likewise.numerics.fixed_point import ONE
from likewise.validation import instance

try:
    import mlflow
    from mlflow.pyfunc import PythonModel
except ImportError as error:
    raise missing("Logging to MLflow", "mlflow-skinny", "mlflow", error) from error

STATE = "state"


def log_audit(result: Audit, name: str = "audit") -> None:
    """Log an audit to the active run of MLflow, or to a new one.

    Metrics are the share of reported pairs (``audit_reported_share``), the pairs, the people
    touched and, with labels, the errors of the price; alpha and the model's name are tags. The page
    and the JSON are artifacts, ``audit.html`` and ``audit.json``.
    """
    result = instance("result", result, Audit, "Give what audit(…) returns.")
    figures = {
        "reported_share": result.share.value,
        "reported_pairs": result.reported.value,
        "people_touched": result.touched.value,
        "pairs": result.pairs,
    }
    if (price := result.price) is not None:
        figures |= {"error": price.model, "error_best": price.best, "error_fair": price.best_fair}
    mlflow.log_metrics({f"{name}_{key}": float(value) for key, value in figures.items()})
    basis = {
        "model": result.basis.model,
        "alpha": result.alpha,
        "panel": result.basis.panel["rule"],
    }
    mlflow.set_tags({f"{name}_{key}": str(value) for key, value in basis.items() if value})
    mlflow.log_text(result.to_html(), f"{name}.html")
    mlflow.log_text(result.to_json(), f"{name}.json")


class Policy(PythonModel):  # type: ignore[misc] # untyped there
    """A learner's policy of the moment: from a frame of features to chances of approval.

    A pool's features are the scores of its models, which are never saved: give their columns.
    """

    def load_context(self, context: Any) -> None:
        """Read the state from its file; no code of ours is in it."""
        self.state = load_state(Path(context.artifacts[STATE]))

    # MLflow takes types for a schema of the input, which the learner has itself.
    def predict(self, context, model_input, params=None):  # type: ignore[no-untyped-def] # noqa: ARG002
        """Everybody's chance of approval, in the order of the rows."""
        schema = self.state.learner.hypotheses.schema
        return current_scores(self.state, schema.people(model_input, others="ignore")) / ONE


def log_policy(state: State, name: str = "policy", **settings: Any) -> Any:
    """Log the policy of a state as a model; ``settings`` are those of ``mlflow.pyfunc.log_model``.

    Returns MLflow's description, whose ``model_uri`` loads it: ``mlflow.pyfunc.load_model(uri)``.
    """
    state = instance("state", state, State, "Give what learn(…) returns.")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "likewise.state"
        save_state(state, path)
        return mlflow.pyfunc.log_model(
            name=name, python_model=Policy(), artifacts={STATE: str(path)}, **settings
        )
