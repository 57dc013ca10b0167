import { Argument, type Command } from '@commander-js/extra-typings';
import { acceptableFindings } from '../../shared/control/generations.ts';
import { topicsOf } from '../../shared/kafka/topics.ts';
import {
  type AcceptDeps,
  acceptFinding,
  type AcceptOptions,
  type AcceptResult,
  needsKafka,
} from '../operations/accept/accept.ts';
import { commandsIn } from '../operations/deployment.ts';
import { configs } from './config.ts';
import { type Context, type Output, type SelectVerb, withMongo } from './context.ts';
import { outputRefusal, withKafkaAndMongo } from './operate.ts';
import { exampleHelp, jsonOption, wholeNumber, whyOption } from './options.ts';
import { type Flag, type Json, lines, output } from './output.ts';

type Options = Json & Omit<AcceptOptions, 'dryRun'> & { dryRun?: Flag };

export function addAccept(program: Command, select: SelectVerb): void {
  program
    .command('accept')
    .description('accept a finding in its present state; the history records who did it, when and why')
    .addArgument(
      new Argument('<finding>', 'the name in the command that the status shows below the finding').choices(
        acceptableFindings,
      ),
    )
    .argument('[number]', 'the generation; the active one by default', wholeNumber(1_000_000))
    .addOption(whyOption('the reason, for the history').makeOptionMandatory())
    .option('--dry-run', 'print the findings and the consequences, but change nothing')
    .addOption(jsonOption())
    .addHelpText(
      'after',
      '\ngap: projectors continue after lost records. older: a switch to older data is allowed for the next ten minutes.\n' +
        'truncated: a rebuild may start without records that Kafka has lost. lost: collections stay as a restore has left\n' +
        'them.',
    )
    .addHelpText('after', exampleHelp('accept gap 1 --why "the lost tags were test data" --dry-run'))
    .action((finding, generation, options) => {
      const verb = needsKafka.includes(finding) ? acceptOnKafka : acceptOnMongo;
      select(verb, { finding, generation, ...options });
    });
}

function acceptOnKafka(context: Context, options: Options): Promise<Output> {
  return withKafkaAndMongo(context, options, (deps) => accept({ ...deps, kafka: deps }, options));
}

function acceptOnMongo(context: Context, options: Options): Promise<Output> {
  const config = configs.everything(context.environment);
  const topics = topicsOf(config.TOPIC_PREFIX);
  return withMongo(context, config, (deps) =>
    outputRefusal(context, options, () => accept({ ...deps, topics, kafka: null }, options)),
  );
}

async function accept(deps: AcceptDeps, options: Options): Promise<Output> {
  const accepted = await acceptFinding(deps, options);
  return output(options, accepted, renderAcceptance(accepted, commandsIn[deps.config.DEPLOYMENT].projector));
}

function renderAcceptance(
  { finding, generation, dryRun, seen }: AcceptResult,
  projector: (generation: number) => string,
): string {
  const about = `"${finding}" of generation ${generation}`;
  const head = dryRun ? `${about} would be accepted:` : `${about} is accepted:`;
  const texts = [head, ...seen.map((text) => `  ${text}`)];
  if (dryRun) texts.push('dry run: nothing was changed');
  else if (finding === 'gap') texts.push(`Start its projectors: ${projector(generation)}`);
  return lines(texts);
}
