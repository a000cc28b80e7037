/**
 * Each delta of the scripted model begins with the time at which it was given, so that whoever sees it, however many
 * were put together on the way, knows how old each of them is. The clock is the machine's own: the same in all processes.
 */
const width = 14;
const deltaLength = 24;
const filling = "some words".padEnd(deltaLength - width);

export function machineNow(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

export function stampedDelta(): string {
  return machineNow().toFixed(3).padStart(width).slice(-width) + filling;
}

/** How old each delta in the text is. */
export function agesOf(text: string, now: number): number[] {
  const ages: number[] = [];
  for (let at = 0; at + deltaLength <= text.length; at += deltaLength)
    ages.push(now - Number(text.slice(at, at + width)));
  return ages;
}
