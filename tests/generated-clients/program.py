"""Uses the client that OpenAPI Generator makes for Python."""

import json
import os
from datetime import datetime, timezone

import support

configuration = support.Configuration(
    host=os.environ["BASE_URL"], access_token=os.environ["API_KEY"]
)
with support.ApiClient(configuration) as client:
    tickets = support.TicketsApi(client)
    channels = support.ChannelsApi(client)
    query = {
        "limit": 1,
        "sort": "createdAt",
        "created_at_gte": datetime(2026, 1, 2, tzinfo=timezone.utc).isoformat(),
    }
    first = tickets.list_tickets(**query)
    second = tickets.list_tickets(**query, starting_after=first.next_cursor)
    types = [
        channels.retrieve_channel(id).actual_instance.type
        for id in ["chan_email", "chan_chatbot", "chan_form"]
    ]
    try:
        tickets.retrieve_ticket("ti_none")
    except support.ApiException as error:
        missing = [error.status, error.data.error.code]
    ids = [ticket.id for ticket in first.data + second.data]
    print(json.dumps({"ids": ids, "types": types, "missing": missing}))
