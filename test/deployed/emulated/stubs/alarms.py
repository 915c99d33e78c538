"""Alarms on metric math. The stub refuses what CloudWatch itself refuses."""

import re

from ministack.core.responses import get_account_id, get_region

from .resources import Refused, own_handlers, physical_name, release_name, set_handlers, take_name

ALARM = "AWS::CloudWatch::Alarm"


def check(props, name):
    periods = int(props["EvaluationPeriods"])
    metrics = props.get("Metrics", [])
    ids = [metric["Id"] for metric in metrics]
    spans = [int(metric["MetricStat"]["Period"]) for metric in metrics if "MetricStat" in metric]
    spans = spans or [int(props["Period"])]
    values = [
        dimension["Value"]
        for metric in metrics
        for dimension in metric.get("MetricStat", {}).get("Metric", {}).get("Dimensions", [])
    ]
    longest = 604_800 if max(spans) >= 3_600 else 86_400
    faults = {
        "a name longer than 255": len(name) > 255,
        "more datapoints than periods": int(props.get("DatapointsToAlarm", periods)) > periods,
        "a description longer than 1024": len(props.get("AlarmDescription", "")) > 1_024,
        "ids that repeat": len(set(ids)) != len(ids),
        "ids that are none": any(not re.match(r"^[a-z][A-Za-z0-9_]*$", one) for one in ids),
        "not one metric that returns data": metrics and sum(1 for one in metrics if one.get("ReturnData", True)) != 1,
        "more than ten metrics": sum(1 for metric in metrics if "MetricStat" in metric) > 10,
        "SEARCH": any("SEARCH(" in metric.get("Expression", "") for metric in metrics),
        "periods": any(span not in (10, 20, 30) and span % 60 for span in spans) or max(spans) * periods > longest,
        "dimensions": any(not value or len(str(value)) > 1_024 for value in values),
        "more than five actions": len(props.get("AlarmActions", [])) > 5,
    }
    for fault, found in faults.items():
        if found:
            raise Refused(f"the alarm {name} has {fault}")


def install():
    own = own_handlers(ALARM)

    def create(logical, props, stack):
        name = props.get("AlarmName") or physical_name(stack, logical, 255)
        check(props, name)
        if "Metrics" not in props:
            return own["create"](logical, props, stack)
        take_name(ALARM, name, f"{stack}/{logical}")
        return name, {"Arn": f"arn:aws:cloudwatch:{get_region()}:{get_account_id()}:alarm:{name}"}

    def delete(physical, props):
        release_name(ALARM, physical) if "Metrics" in props else own["delete"](physical, props)

    def update(physical, old, new, stack, logical=None):
        if "Metrics" not in new and "Metrics" not in old:
            words = (physical, old, new, stack)
            return own["update"](*words, logical) if own.get("update_with_logical_id") else own["update"](*words)
        delete(physical, old)
        return create(logical, new, stack)

    set_handlers(ALARM, create, update, delete)
