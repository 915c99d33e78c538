"""CodeDeploy, budgets, associations of firewalls, and secrets: types that the emulator lacks or treats in another way than AWS."""

import copy
import random
import re
import string

from ministack.core.responses import get_account_id
from ministack.services import budgets

from .resources import Refused, own_handlers, physical_name, register, release_name, set_handlers, take_name

SECRET = "AWS::SecretsManager::Secret"
ASSOCIATION = "AWS::WAFv2::WebACLAssociation"
STAGE = re.compile(r"^arn:aws:apigateway:[^:]+::/restapis/[^/]+/stages/[^/]+$")


def _add_named(kind, name_key, limit=100):
    def create(logical, props, stack):
        name = props.get(name_key) or physical_name(stack, logical, limit)
        if len(name) > limit:
            raise Refused(f"{kind}: {name} is longer than {limit}")
        take_name(kind, name, f"{stack}/{logical}")
        return name, {}

    register(kind, create, lambda physical, props: release_name(kind, physical))


def create_budget(logical, props, stack):
    budget = copy.deepcopy(props["Budget"])
    budget["BudgetName"] = budget.get("BudgetName") or physical_name(stack, logical, 100)
    if "BudgetLimit" in budget:
        budget["BudgetLimit"]["Amount"] = str(budget["BudgetLimit"]["Amount"])
    notifications = [
        {"Notification": one["Notification"], "Subscribers": one["Subscribers"]}
        for one in props.get("NotificationsWithSubscribers", [])
    ]
    request = {"AccountId": get_account_id(), "Budget": budget, "NotificationsWithSubscribers": notifications}
    status, _headers, body = budgets._create_budget(request)
    if status >= 400:
        raise Refused(str(body))
    return budget["BudgetName"], {}


def delete_budget(physical, props):
    budgets._delete_budget({"AccountId": get_account_id(), "BudgetName": physical})


def update_budget(physical, old, new, stack, logical=None):
    delete_budget(physical, old)
    return create_budget(logical, new, stack)


def create_association(logical, props, stack):
    arn = props["ResourceArn"]
    if not STAGE.match(arn):
        raise Refused(f"WAF: {arn} is no stage")
    take_name(ASSOCIATION, arn, f"{stack}/{logical}")
    return f"{props['WebACLArn']}|{arn}", {}


def _add_secrets():
    """`Ref` of a secret is its ARN, and a generated name is the logical id with twelve characters."""
    own = own_handlers(SECRET)

    def name_of(arn):
        return arn.split(":secret:", 1)[1].rsplit("-", 1)[0] if ":secret:" in arn else arn

    def create(logical, props, stack):
        suffix = "".join(random.choices(string.ascii_letters + string.digits, k=12))
        named = {**props, "Name": props.get("Name") or f"{logical}-{suffix}"}
        _name, attributes = own["create"](logical, named, stack)
        return attributes["Arn"], {"Id": attributes["Arn"], "Arn": attributes["Arn"]}

    def update(physical, old, new, stack, logical=None):
        name = name_of(physical)
        if "update" in own:
            words = (name, {**old, "Name": name}, {**new, "Name": name}, stack)
            own["update"](*words, logical) if own.get("update_with_logical_id") else own["update"](*words)
        return physical, {"Id": physical, "Arn": physical}

    set_handlers(SECRET, create, update, lambda physical, props: own["delete"](name_of(physical), props))


def install():
    _add_named("AWS::CodeDeploy::Application", "ApplicationName")
    _add_named("AWS::CodeDeploy::DeploymentConfig", "DeploymentConfigName")
    _add_named("AWS::CodeDeploy::DeploymentGroup", "DeploymentGroupName")
    set_handlers("AWS::Budgets::Budget", create_budget, update_budget, delete_budget)
    register(ASSOCIATION, create_association, lambda physical, props: release_name(ASSOCIATION, physical.split("|")[-1]))
    _add_secrets()
