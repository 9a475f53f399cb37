"""The pages: responses of the API in templates, for auditors and operators."""
