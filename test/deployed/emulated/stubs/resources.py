"""How a stubbed resource type behaves: unique names, and replacement when a create-only property changes."""

import json
import sys
from pathlib import Path

from ministack.core.responses import get_account_id, get_region
from ministack.services.cloudformation import provisioners

_SNAPSHOT = Path(__file__).resolve().parents[3] / "lib" / "create-only" / "properties.json"
CREATE_ONLY = {
    kind: {path.split("/")[0] for path in paths} for kind, paths in json.loads(_SNAPSHOT.read_text())["types"].items()
}

_names = {}
_attributes = {}


class Refused(ValueError):
    """The service refuses the request."""


def take_name(kind, name, owner):
    """Reserves a name in the account and region."""
    key = (get_account_id(), get_region(), kind, name)
    if _names.get(key, owner) != owner:
        raise Refused(f"{kind} {name} already exists")
    _names[key] = owner


def has_name(kind, name):
    return (get_account_id(), get_region(), kind, name) in _names


def release_name(kind, name):
    _names.pop((get_account_id(), get_region(), kind, name), None)


def physical_name(stack, logical, limit=64):
    return provisioners._physical_name(stack, logical, max_len=limit)


def own_handlers(kind):
    """The emulator's own handlers of a type."""
    return dict(provisioners._RESOURCE_HANDLERS[kind])


def set_handlers(kind, create, update, delete):
    provisioners._RESOURCE_HANDLERS[kind] = {
        "create": create,
        "update": update,
        "update_with_logical_id": True,
        "delete": delete,
    }


def register(kind, create, delete):
    """Adds a type that is updated in place, unless one of CloudFormation's create-only properties changes."""

    def remembered(logical, props, stack):
        physical, attributes = create(logical, props, stack)
        _attributes[physical] = attributes
        return physical, attributes

    def update(physical, old, new, stack, logical=None):
        changed = [key for key in CREATE_ONLY[kind] if old.get(key) != new.get(key)]
        if not changed:
            return physical, _attributes.get(physical, {})
        print("REPLACES", kind, logical, changed, file=sys.stderr, flush=True)
        created = remembered(logical, new, stack)
        provisioners._delete_predecessor(delete, physical, old)
        return created

    set_handlers(kind, remembered, update, delete)
