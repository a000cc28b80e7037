/** An answer with most of what Markdown offers, for screenshots. */
export const markdownAnswer = `Let the machine's own supervisor do it. Three things matter:

1. **It starts again by itself**, after a crash and after a reboot.
2. **It stops cleanly**: what was accepted is kept.
3. **It says how it is**, so that somebody can look.

\`\`\`yaml
services:
  harbour:
    image: harbour:1.4
    ports: ["127.0.0.1:8700:8700"]
    volumes: ["./log:/var/log/harbour"]
    restart: always   # after a crash and after a reboot
\`\`\`

Then \`docker compose up -d\`, and watch it for a day. What to expect when something goes wrong:

| what happens | restarted | what is lost |
|---|:-:|--:|
| the process is killed | yes | nothing |
| the machine reboots | yes | nothing |
| the disk is full | no | 0 messages |

> Ropes are inspected on the day when nothing has gone wrong.`;

/** An answer with formulas and a diagram, for screenshots. */
export const diagramAnswer = `Because the moon does not only pull: it pulls **harder on the near side** than on the far one. At a distance $d$ from the moon, across a radius $r$, what is left of its pull is

$$
\\Delta a \\approx \\frac{2\\,G M_{\\text{moon}}\\, r}{d^{3}} \\approx 1.1 \\times 10^{-6}\\ \\mathrm{m/s^2}
$$

to *both* sides, so that there are two bulges, and the Earth turns under them once a day.

\`\`\`mermaid
flowchart LR
  accTitle: What pulls at the sea
  Moon -->|near side, more| Near[Bulge towards the moon]
  Moon -->|far side, less| Far[Bulge away from it]
  Near --> Tide(High water)
  Far --> Tide
\`\`\``;

/** An answer of a few lines, for screenshots. */
export const knotAnswer = `A **double figure-eight**. It keeps about 75 % of the rope's strength, and unlike the bowline it
does not work loose when the rope is wet.

- Leave a tail of ten times the rope's diameter.
- Pull each of the four strands tight before you trust it.`;

/** The beginning of a longer answer, for screenshots. */
export const tidesAnswer = `Here are the waters at Cuxhaven, in local time. Heights are in metres above chart datum.

### Monday

High water is at **06:41** (3.4 m) and **19:02** (3.3 m), low water at 00:17 (0.5 m) and 12:39 (0.4 m). With wind from
the north-west, expect up to 0.3 m more.

### Tuesday

High water is at **07:28** (3.5 m) and **19:49** (3.4 m), low water at 01:06`;
