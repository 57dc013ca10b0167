// Uses the client that OpenAPI Generator makes for Go.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"time"

	support "github.com/GIT_USER_ID/GIT_REPO_ID"
)

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func main() {
	configuration := support.NewConfiguration()
	configuration.Servers = support.ServerConfigurations{{URL: os.Getenv("BASE_URL")}}
	client := support.NewAPIClient(configuration)
	ctx := context.WithValue(context.Background(), support.ContextAccessToken, os.Getenv("API_KEY"))

	since := time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC).Format(time.RFC3339)
	list := client.TicketsAPI.ListTickets(ctx).Limit(1).Sort("createdAt").CreatedAtGte(since)
	first, _, err := list.Execute()
	must(first, err)
	second, _, err := list.StartingAfter(first.GetNextCursor()).Execute()
	must(second, err)
	ids := []string{}
	for _, ticket := range append(first.Data, second.Data...) {
		ids = append(ids, ticket.Id)
	}

	types := []string{}
	for _, id := range []string{"chan_email", "chan_chatbot", "chan_form"} {
		channel, _, err := client.ChannelsAPI.RetrieveChannel(ctx, id).Execute()
		must(channel, err)
		switch {
		case channel.EmailChannel != nil:
			types = append(types, channel.EmailChannel.Type)
		case channel.ChatbotChannel != nil:
			types = append(types, channel.ChatbotChannel.Type)
		case channel.FormChannel != nil:
			types = append(types, channel.FormChannel.Type)
		}
	}

	_, response, err := client.TicketsAPI.RetrieveTicket(ctx, "ti_none").Execute()
	var failure *support.GenericOpenAPIError
	if !errors.As(err, &failure) {
		panic(err)
	}
	code := failure.Model().(support.Error).Error.Code
	json.NewEncoder(os.Stdout).Encode(map[string]any{
		"ids": ids, "types": types, "missing": []any{response.StatusCode, code},
	})
}
