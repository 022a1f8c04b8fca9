// Parses Adaptive Cards, given one message of a webhook on each line, and prints what the parser and the validator of adaptivecards report.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

// the entry of the package does not load in Node
const { AdaptiveCard, SerializationContext, Versions } = createRequire(import.meta.url)('adaptivecards/dist/adaptivecards.js');

function events(content) {
  const card = new AdaptiveCard();
  const context = new SerializationContext(Versions.v1_5);
  card.parse(content, context);
  const parsed = Array.from({ length: context.eventCount }, (_, at) => context.getEventAt(at).message);
  const validated = card.validateProperties().validationEvents.map((event) => event.message);
  return { events: [...parsed, ...validated], items: card.getItemCount(), actions: card.getActionCount(), version: String(card.version) };
}

for (const line of readFileSync(process.argv[2], 'utf8').trim().split('\n')) {
  const { attachments } = JSON.parse(line);
  for (const { contentType, content } of attachments) {
    console.log(JSON.stringify({ contentType, ...events(content) }));
  }
}
// the judge must be able to say no
const wrong = { type: 'AdaptiveCard', version: '1.5', body: [{ type: 'Blink' }], actions: [{ type: 'Action.OpenUrl', title: 'x' }] };
console.log(JSON.stringify({ contentType: 'wrong', ...events(wrong) }));
