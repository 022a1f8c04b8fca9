// The frame of the clients in JavaScript, as `plan.py` is of those in Python: `see(url, plan)` for each URL of each plan of standard input.
import { text } from 'node:stream/consumers'

export async function outcome(made) {
  try {
    return (await made()) ?? null
  } catch (error) {
    return { raised: error.name, text: error.message }
  }
}

export async function run(see) {
  const seen = []
  for (const plan of JSON.parse(await text(process.stdin))) {
    const shown = []
    for (const url of plan.urls) shown.push(await outcome(() => see(url, plan)))
    seen.push(shown)
  }
  process.stdout.write(JSON.stringify(seen), () => process.exit(0))
}
