import { z } from 'zod';

/** A tag or a topic where only its name is shown. */
export const labelSchema = z
  .strictObject({ id: z.string().describe('Its id.'), name: z.string().describe('Its name.') })
  .meta({ id: 'Label', description: 'A tag or a topic.' });
