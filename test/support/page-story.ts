/** An answer with everything that Markdown is used for, for looking at. */
export const storyAnswer = `Let the machine's own supervisor do it. Three things matter:

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
