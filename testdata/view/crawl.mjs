// Follows every link of the viewer, a few of each kind of page, and looks at each
// page wide and narrow, light and dark:
//
//	node crawl.mjs LINK [FOLDER [ADDRESS...]]
//
// With a FOLDER that is not empty it leaves pictures there, of whole pages if FULL=1. It also opens each ADDRESS.
import { mkdirSync } from 'node:fs'
import { end, inspect, narrow, open, wide } from './browser.mjs'

const [link, folder, ...more] = process.argv.slice(2)
const each = Number(process.env.EACH ?? 2) // pages of a kind
const view = await open(link)
const { page, origin, faults } = view
if (folder) mkdirSync(folder, { recursive: true })

// kind is a page's address without what names a row: pages of a kind share a template.
function kind(url) {
  const parts = url.pathname.split('/')
  if (parts[1] === 'r') parts[2] = '*'
  if (parts[1] === 'e') parts[2] = '*'
  if (parts[1] === 'd') parts[2] = '*'
  if (parts.length > 4) parts[4] = '*'
  if (parts.length > 6) parts[6] = '*'
  const names = [...new Set([...url.searchParams.keys()].map((name) => name.split('.')[0]))].filter((name) => name !== 'page')
  return parts.join('/') + '?' + (names.length > 1 ? 'several' : names.join())
}

const asked = more.map((address) => origin + address)
const seen = new Map(), queue = [page.url(), ...asked], known = new Set(queue)
let pages = 0
while (queue.length) {
  const url = new URL(queue.shift())
  const count = seen.get(kind(url)) ?? 0
  if (count >= each && !asked.includes(url.href)) continue
  seen.set(kind(url), count + 1)
  const answer = await page.goto(url.href)
  pages++
  if (answer.status() !== 200) faults.push(`${url.pathname}${url.search}: status ${answer.status()}`)
  if (!answer.headers()['content-type'].startsWith('text/html')) continue
  for (const [size, viewport] of Object.entries({ 1280: wide, 400: narrow })) {
    await page.setViewportSize(viewport)
    for (const colorScheme of folder ? ['light', 'dark'] : [size === '400' ? 'light' : 'dark']) {
      await page.emulateMedia({ colorScheme })
      await inspect(view)
      if (!folder) continue
      const name = (url.pathname + url.search).replace(/[^\w-]+/g, '_').slice(0, 90) || '_'
      await page.screenshot({ path: `${folder}/${name}-${pages}-${colorScheme}-${size}.png`, caret: 'initial', fullPage: process.env.FULL === '1' })
    }
  }
  for (const href of await page.evaluate(() => [...document.querySelectorAll('a[href]:not([download])')].map((a) => a.href.split('#')[0]))) {
    if (!href.startsWith(origin + '/') || known.has(href)) continue
    known.add(href)
    queue.push(href)
  }
}
await end(view, `${pages} pages of ${seen.size} kinds`)
