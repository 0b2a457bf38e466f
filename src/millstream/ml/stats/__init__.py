"""Tests of significance of features."""
