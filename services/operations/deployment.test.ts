import { commandsIn, deployments } from './deployment.ts';

test.each([
  ['source', 'npx support-cli', 'GENERATION=2 npm run projector'],
  [
    'compose',
    'docker compose exec projector support-cli',
    'docker compose run --detach --env GENERATION=2 projector',
  ],
  ['helm', 'support-cli', 'helm upgrade with { number: 2, replicas: 1 } in generations'],
] as const)('in the deployment %s an operator types its own commands', (deployment, cli, projector) => {
  expect(commandsIn[deployment].cli).toBe(cli);
  expect(commandsIn[deployment].projector(2)).toBe(projector);
});

test('every deployment has its commands', () => {
  expect(Object.keys(commandsIn)).toEqual([...deployments]);
});
