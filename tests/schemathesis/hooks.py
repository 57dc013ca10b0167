"""Makes generated requests comply with three rules that OpenAPI cannot express.

The hooks change requests that are meant to be valid before they are sent, so that the check of accepted requests
need not ignore refusals. Requests that are meant to be invalid stay unchanged.
"""

import datetime

import schemathesis


@schemathesis.hook
def before_call(context, case, kwargs):
    if case.meta is None or not case.meta.generation.mode.is_positive or not case.query:
        return
    bound_one_date(case.query)
    keep_real_dates(case.query)
    take_a_real_cursor(case, kwargs)


def bound_one_date(query):
    """Ranges on both dates conflict, so this removes the range on updatedAt."""
    if any(name.startswith("createdAt[") for name in query):
        for name in [name for name in query if name.startswith("updatedAt[")]:
            del query[name]


def keep_real_dates(query):
    """A pattern allows 30 February and the year 0, so this removes such bounds."""
    for name in [name for name in query if name.endswith(("[gte]", "[lte]"))]:
        try:
            year = datetime.date.fromisoformat(str(query[name])[:10]).year
        except ValueError:
            year = 0
        if not 1 < year < 9999:
            del query[name]


def take_a_real_cursor(case, kwargs):
    """A cursor comes from an earlier page of the same list, so this requests the first page."""
    if "startingAfter" not in case.query:
        return
    del case.query["startingAfter"]
    first = case.operation.Case(
        path_parameters=case.path_parameters, query={**case.query, "limit": 1}
    ).call(**kwargs)
    if first.status_code == 200 and (cursor := first.json()["nextCursor"]):
        case.query["startingAfter"] = cursor
