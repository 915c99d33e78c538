"""Runs MiniStack with the resource types of this project that it lacks (`stubs/`).

Not shown by it: quotas, eventual consistency, CodeDeploy's traffic, and metrics in logs.
"""

import re

from ministack.core import iam_evaluator
from ministack.services import apigateway_v1

from stubs import alarms, others, search

for stub in (search, others, alarms):
    stub.install()

# The address of an integration that streams has another end.
_function_of = apigateway_v1._extract_lambda_ref_from_integration_uri
apigateway_v1._extract_lambda_ref_from_integration_uri = lambda uri: re.sub(
    r"/response-streaming-invocations.*$", "", _function_of(uri)
)

# On this machine all requests are plain HTTP. On AWS they use TLS, which the bucket policies require.
_condition = iam_evaluator._resolve_condition_key
_OF_TLS = {"aws:securetransport": "true", "s3:tlsversion": "1.3"}
iam_evaluator._resolve_condition_key = lambda key, context: _OF_TLS.get(key.lower()) or _condition(key, context)

if __name__ == "__main__":
    from ministack.app import main

    main()
