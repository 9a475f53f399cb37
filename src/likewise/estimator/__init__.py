"""The learner with the conventions of scikit-learn."""

from likewise.estimator.classifier import LikewiseClassifier

__all__ = ["LikewiseClassifier"]
