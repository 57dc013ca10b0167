"""Uses the client that openapi-python-client makes."""

import json
import os
from datetime import datetime, timezone

from support_client import AuthenticatedClient
from support_client.api.channels import retrieve_channel
from support_client.api.tickets import list_tickets, retrieve_ticket
from support_client.models.list_tickets_sort import ListTicketsSort

with AuthenticatedClient(base_url=os.environ["BASE_URL"], token=os.environ["API_KEY"]) as client:
    query = {
        "limit": 1,
        "sort": ListTicketsSort.CREATED_AT,
        "created_atgte": datetime(2026, 1, 2, tzinfo=timezone.utc).isoformat(),
    }
    first = list_tickets.sync(client=client, **query)
    second = list_tickets.sync(client=client, **query, starting_after=first.next_cursor)
    types = [
        retrieve_channel.sync(id, client=client).type_
        for id in ["chan_email", "chan_chatbot", "chan_form"]
    ]
    missing = retrieve_ticket.sync_detailed("ti_none", client=client)
    print(
        json.dumps(
            {
                "ids": [ticket.id for ticket in first.data + second.data],
                "types": types,
                "missing": [missing.status_code, missing.parsed.error.code],
            }
        )
    )
