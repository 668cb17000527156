/** Owns: ConfigurationEntry. */
import { Configuration } from '../configuration.ts';
import { entryInterfaces, entryRef } from './entry.ts';

export const ConfigurationEntry = entryRef('CONFIGURATION').implement({
  description: 'Title, model, workspace or approval mode were set.',
  interfaces: entryInterfaces,
  fields: (t) => ({
    configuration: t.field({
      type: Configuration,
      description: 'All settings from here on, the unchanged ones included.',
      resolve: (e) => e.entry.configuration,
    }),
  }),
});
