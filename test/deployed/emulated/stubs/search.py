"""OpenSearch Serverless. Policies are validated by the emulator's own service; the endpoint is a real OpenSearch node."""

import json
import os

from ministack.services import opensearchserverless as aoss
from ministack.services.cloudformation import provisioners
from ministack.core.responses import get_account_id, get_region

from .resources import Refused, has_name, register, release_name, set_handlers, take_name

GROUP = "AWS::OpenSearchServerless::CollectionGroup"
CAPACITIES = {0, 2, 4, 8, 16} | {16 * i for i in range(1, 106)}


def _asked(request):
    try:
        return request()
    except aoss._Invalid as error:
        raise Refused(f"{error.code}: {error.message}") from error


def create_group(logical, props, stack):
    name = props["Name"]
    aoss._validate_name(name, "name", 32)
    for key, value in props.get("CapacityLimits", {}).items():
        if float(value) not in CAPACITIES:
            raise Refused(f"{key}: {value} is not a capacity")
    if props.get("Generation") == "NEXTGEN" and props.get("StandbyReplicas") != "ENABLED":
        raise Refused("NEXTGEN requires StandbyReplicas ENABLED")
    take_name(GROUP, name, f"{stack}/{logical}")
    arn = f"arn:aws:aoss:{get_region()}:{get_account_id()}:collection-group/cg-{name}"
    return name, {"Id": f"cg-{name}", "Arn": arn}


def delete_group(physical, props):
    if any(record.get("_group") == physical for record in aoss._collections.values()):
        raise Refused(f"collection group {physical} has collections")
    release_name(GROUP, physical)


def create_collection(logical, props, stack):
    name, group = props["Name"], props.get("CollectionGroupName")
    if group and not has_name(GROUP, group):
        raise Refused(f"no collection group {group}")
    request = {
        "name": name,
        "type": props.get("Type", "TIMESERIES"),
        "standbyReplicas": props.get("StandbyReplicas", "ENABLED"),
        "deletionProtection": props.get("DeletionProtection", "DISABLED"),
        "tags": [{"key": tag["Key"], "value": tag["Value"]} for tag in props.get("Tags", [])],
    }
    _asked(lambda: aoss._create_collection(request))
    record = aoss._find_by_name(name)
    policies = aoss._security_policies.items()
    if not any(key.startswith("network/") and f"collection/{name}" in json.dumps(one["policy"]) for key, one in policies):
        raise Refused("no network policy")
    endpoint = os.environ["EMULATED_SEARCH_ENDPOINT"]
    record.update({"status": "ACTIVE", "_group": group, "collectionEndpoint": endpoint})
    return record["id"], {
        "Id": record["id"],
        "Arn": record["arn"],
        "CollectionEndpoint": endpoint,
        "DashboardEndpoint": f"{endpoint}/_dashboards",
    }


def delete_collection(physical, props):
    record = aoss._collections.get(physical)
    if record is None:
        return
    record["status"] = "ACTIVE"
    _asked(lambda: aoss._delete_collection({"id": physical}))


def add_policies(kind, store, create, update, delete):
    def make(logical, props, stack):
        if len(props["Policy"]) > 102_400:
            raise Refused("policy too long")
        _asked(lambda: create({"type": props["Type"], "name": props["Name"], "policy": props["Policy"]}))
        return f"{props['Type']}|{props['Name']}", {}

    def remove(physical, props):
        policy_type, name = physical.split("|", 1)
        _asked(lambda: delete({"type": policy_type, "name": name}))

    def change(physical, old, new, stack, logical=None):
        if (old["Type"], old["Name"]) != (new["Type"], new["Name"]):
            made = make(logical, new, stack)
            provisioners._delete_predecessor(remove, physical, old)
            return made
        version = store[f"{new['Type']}/{new['Name']}"]["policyVersion"]
        request = {"type": new["Type"], "name": new["Name"], "policy": new["Policy"], "policyVersion": version}
        _asked(lambda: update(request))
        return physical, {}

    set_handlers(kind, make, change, remove)


def install():
    register(GROUP, create_group, delete_group)
    register("AWS::OpenSearchServerless::Collection", create_collection, delete_collection)
    add_policies(
        "AWS::OpenSearchServerless::SecurityPolicy",
        aoss._security_policies,
        aoss._create_security_policy,
        aoss._update_security_policy,
        aoss._delete_security_policy,
    )
    add_policies(
        "AWS::OpenSearchServerless::AccessPolicy",
        aoss._access_policies,
        aoss._create_access_policy,
        aoss._update_access_policy,
        aoss._delete_access_policy,
    )
