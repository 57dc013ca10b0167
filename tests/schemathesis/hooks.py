"""Makes requests valid that the document cannot tell from valid ones.

OpenAPI has no words for two rules, so data that is meant to be accepted is brought in line with them before it
is sent, instead of having the check of acceptance overlook their refusals. Data that is meant to be refused is
left alone.
"""

import schemathesis


@schemathesis.hook
def before_call(context, case, kwargs):
    if case.meta is None or not case.meta.generation.mode.is_positive or not case.query:
        return
    bound_one_date(case.query)
    take_a_real_cursor(case, kwargs)


def bound_one_date(query):
    """Bounds on both dates conflict: those on the update go."""
    if any(name.startswith("createdAt[") for name in query):
        for name in [name for name in query if name.startswith("updatedAt[")]:
            del query[name]


def take_a_real_cursor(case, kwargs):
    """A cursor is what an earlier page of the same list gave: the first page is asked for it."""
    if "startingAfter" not in case.query:
        return
    del case.query["startingAfter"]
    first = case.operation.Case(
        path_parameters=case.path_parameters, query={**case.query, "limit": 1}
    ).call(**kwargs)
    if first.status_code == 200 and (cursor := first.json()["nextCursor"]):
        case.query["startingAfter"] = cursor
