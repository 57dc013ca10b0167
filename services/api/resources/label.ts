import { z } from 'zod';

/** A tag or a topic with only its id and name. */
export const labelSchema = z
  .strictObject({ id: z.string().describe('Its id.'), name: z.string().describe('Its name.') })
  .meta({ id: 'Label', description: 'A tag or a topic.' });
