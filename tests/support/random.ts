export { createRandom, type Random } from '../../infra/sample-data/random.ts';
