<?php
// The generated classes, and Guzzle as Debian packages it.
require '/usr/share/php/GuzzleHttp/autoload.php';
spl_autoload_register(function (string $name): void {
    $file = getenv('CLIENT') . '/lib/' . str_replace('\\', '/', substr($name, strlen('OpenAPI\\Client\\'))) . '.php';
    if (str_starts_with($name, 'OpenAPI\\Client\\') && is_file($file)) require $file;
});

use OpenAPI\Client\Api\ChannelsApi;
use OpenAPI\Client\Api\TicketsApi;
use OpenAPI\Client\ApiException;
use OpenAPI\Client\Configuration;

$configuration = (new Configuration())->setHost(getenv('BASE_URL'))->setAccessToken(getenv('API_KEY'));
$tickets = new TicketsApi(null, $configuration);
$channels = new ChannelsApi(null, $configuration);
$query = ['limit' => 1, 'sort' => 'createdAt', 'created_at_gte' => '2026-01-02'];
$first = $tickets->listTickets(...$query);
$second = $tickets->listTickets(...$query, starting_after: $first->getNextCursor());
$types = [];
foreach (['chan_email', 'chan_chatbot', 'chan_form'] as $id) $types[] = $channels->retrieveChannel($id)->getType();
try {
    $tickets->retrieveTicket('ti_none');
} catch (ApiException $failure) {
    $missing = [$failure->getCode(), json_decode($failure->getResponseBody())->error->code];
}
$ids = array_map(fn ($ticket) => $ticket->getId(), [...$first->getData(), ...$second->getData()]);
echo json_encode(['ids' => $ids, 'types' => $types, 'missing' => $missing]);
