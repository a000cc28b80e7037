/** SHA-256 on the spot, in hexadecimal, for what is short: the platform's own digest answers from another thread. */
export function sha256(message: Uint8Array): string {
  const input = padded(message);
  const state = Int32Array.from(firstState);
  const schedule = new Int32Array(64);
  for (let block = 0; block < input.byteLength; block += 64) {
    for (let index = 0; index < 16; index += 1) schedule[index] = input.getInt32(block + 4 * index);
    extendSchedule(schedule);
    mixIn(state, schedule);
  }
  let digest = "";
  for (const word of state) digest += (word >>> 0).toString(16).padStart(8, "0");
  return digest;
}

/** The message, one bit, and zeros up to the message's length in bits, which ends the last block of 64 bytes. */
function padded(message: Uint8Array): DataView {
  const bytes = new Uint8Array(64 * Math.ceil((message.length + 9) / 64));
  bytes.set(message);
  bytes[message.length] = 0x80;
  const view = new DataView(bytes.buffer);
  view.setUint32(bytes.length - 8, Math.floor(message.length / 2 ** 29));
  view.setUint32(bytes.length - 4, (message.length * 8) % 2 ** 32);
  return view;
}

function extendSchedule(schedule: Int32Array): void {
  for (let index = 16; index < 64; index += 1) {
    const older = schedule[index - 15] ?? 0;
    const newer = schedule[index - 2] ?? 0;
    const one = turned(older, 7) ^ turned(older, 18) ^ (older >>> 3);
    const other = turned(newer, 17) ^ turned(newer, 19) ^ (newer >>> 10);
    schedule[index] = (schedule[index - 16] ?? 0) + one + (schedule[index - 7] ?? 0) + other;
  }
}

function mixIn(state: Int32Array, schedule: Int32Array): void {
  let [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = state;
  for (let index = 0; index < 64; index += 1) {
    const choice = (e & f) ^ (~e & g);
    const ends = turned(e, 6) ^ turned(e, 11) ^ turned(e, 25);
    const one = (h + ends + choice + (constants[index] ?? 0) + (schedule[index] ?? 0)) | 0;
    const most = (a & b) ^ (a & c) ^ (b & c);
    const begins = turned(a, 2) ^ turned(a, 13) ^ turned(a, 22);
    h = g;
    g = f;
    f = e;
    e = (d + one) | 0;
    d = c;
    c = b;
    b = a;
    a = (one + begins + most) | 0;
  }
  const mixed = [a, b, c, d, e, f, g, h];
  for (let index = 0; index < 8; index += 1)
    state[index] = (state[index] ?? 0) + (mixed[index] ?? 0);
}

function turned(word: number, bits: number): number {
  return (word >>> bits) | (word << (32 - bits));
}

/** What the standard begins with: the first bits behind the point of roots of the first primes. */
const primes = firstPrimes(64);
const firstState = primes.slice(0, 8).map((prime) => behindThePoint(Math.sqrt(prime)));
const constants = Int32Array.from(primes, (prime) => behindThePoint(Math.cbrt(prime)));

function behindThePoint(root: number): number {
  return Math.floor((root % 1) * 2 ** 32) | 0;
}

function firstPrimes(count: number): number[] {
  const found: number[] = [];
  for (let number = 2; found.length < count; number += 1)
    if (found.every((prime) => number % prime !== 0)) found.push(number);
  return found;
}
