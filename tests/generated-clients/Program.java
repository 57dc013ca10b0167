import com.google.gson.Gson;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.openapitools.client.ApiClient;
import org.openapitools.client.ApiException;
import org.openapitools.client.JSON;
import org.openapitools.client.api.ChannelsApi;
import org.openapitools.client.api.TicketsApi;
import org.openapitools.client.model.ChatbotChannel;
import org.openapitools.client.model.EmailChannel;
import org.openapitools.client.model.Error;
import org.openapitools.client.model.FormChannel;
import org.openapitools.client.model.TicketItem;
import org.openapitools.client.model.TicketList;

/** Uses the client that OpenAPI Generator makes for Java. */
public class Program {
  public static void main(String[] args) throws ApiException {
    ApiClient client = new ApiClient();
    client.setBasePath(System.getenv("BASE_URL"));
    client.setBearerToken(System.getenv("API_KEY"));
    TicketsApi tickets = new TicketsApi(client);
    ChannelsApi channels = new ChannelsApi(client);

    String since = Instant.parse("2026-01-02T00:00:00Z").toString();
    TicketList first = tickets.listTickets(1, null, "createdAt", null, since, null, null, null, null);
    TicketList second =
        tickets.listTickets(1, first.getNextCursor(), "createdAt", null, since, null, null, null, null);
    List<String> ids =
        Stream.of(first, second).flatMap(page -> page.getData().stream()).map(TicketItem::getId).toList();

    List<String> types = new ArrayList<>();
    for (String id : List.of("chan_email", "chan_chatbot", "chan_form")) {
      Object channel = channels.retrieveChannel(id, null).getActualInstance();
      if (channel instanceof EmailChannel email) types.add(email.getType().getValue());
      if (channel instanceof ChatbotChannel chatbot) types.add(chatbot.getType().getValue());
      if (channel instanceof FormChannel form) types.add(form.getType().getValue());
    }

    List<Object> missing = new ArrayList<>();
    try {
      tickets.retrieveTicket("ti_none", null);
    } catch (ApiException failure) {
      Error error = JSON.getGson().fromJson(failure.getResponseBody(), Error.class);
      missing.addAll(List.of(failure.getCode(), error.getError().getCode()));
    }
    System.out.println(new Gson().toJson(Map.of("ids", ids, "types", types, "missing", missing)));
  }
}
