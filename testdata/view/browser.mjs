// Opens Debian's Chromium for the tests of rollmill view, and notes whatever no
// page of the viewer may do: errors, violations of the content security policy,
// requests to other hosts, running text from data, scrolling sideways.
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'

const modules = fileURLToPath(new URL('../../.stores/view/', import.meta.url))
const { chromium } = createRequire(modules)('playwright-core')

export const wide = { width: 1280, height: 900 }
export const narrow = { width: 400, height: 800 }

// open opens the viewer at a link with its token. faults grows while pages are used.
export async function open(link, options = {}) {
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox'] })
  const context = await browser.newContext({ viewport: wide, colorScheme: 'light', reducedMotion: 'reduce', ...options })
  const origin = new URL(link).origin
  const faults = []
  await context.route('**/*', (route) => {
    const url = route.request().url()
    if (url.startsWith(origin + '/') || url.startsWith('data:')) return route.continue()
    faults.push(`a request to another host: ${url}`)
    return route.abort()
  })
  await context.addInitScript(() => {
    document.addEventListener('securitypolicyviolation', (e) => console.error(`policy: ${e.violatedDirective} ${e.blockedURI} ${e.sample}`))
  })
  const page = await context.newPage()
  page.setDefaultTimeout(30_000)
  const at = () => page.url().slice(origin.length)
  page.on('console', (m) => m.type() === 'error' && faults.push(`${at()}: console: ${m.text()}`))
  page.on('pageerror', (e) => faults.push(`${at()}: ${e}`))
  page.on('dialog', (d) => { faults.push(`${at()}: dialog: ${d.message()}`); d.dismiss() })
  await page.goto(link)
  return { browser, page, origin, faults }
}

// inspect notes the faults of the page as it is now: after a change of the window
// or of the content, as the second frame shows it.
export async function inspect({ page, faults, origin }) {
  await page.evaluate(() => new Promise((shown) => requestAnimationFrame(() => requestAnimationFrame(shown))))
  const found = await page.evaluate(() => {
    const out = []
    if (window.hit) out.push('text from data ran as a script')
    const root = document.documentElement
    if (root.scrollWidth > root.clientWidth) {
      const over = [...document.querySelectorAll('body *')].filter((e) => e.getBoundingClientRect().right > root.clientWidth + 1 && !e.closest('.scroll, pre'))
      out.push(`scrolls sideways: ${root.scrollWidth} of ${root.clientWidth} pixels, ${over.slice(0, 3).map((e) => e.tagName + '.' + e.className)}`)
    }
    if (document.querySelectorAll('h1').length !== 1) out.push('has not one heading')
    const active = document.querySelector('main script:not([src^="/static/"]), main style, main iframe, main object, [onerror], [onload], [onclick], [style]')
    if (active) out.push(`has an active element or an inline style: ${active.outerHTML.slice(0, 80)}`)
    for (const a of document.querySelectorAll('a[href]')) if (!/^(https?:|data:)$/.test(a.protocol)) out.push(`links to ${a.protocol}`)
    for (const i of document.querySelectorAll('img:not(main > figure img)')) if (!/^data:image\/(png|jpeg|gif|webp);/.test(i.src)) out.push(`shows an image of ${i.src.slice(0, 40)}`)
    for (const e of document.querySelectorAll('input:not([type=hidden]), select, button')) {
      if (!e.labels?.length && !e.getAttribute('aria-label') && !e.textContent.trim() && !e.title) out.push(`no label: ${e.outerHTML.slice(0, 80)}`)
    }
    return out
  })
  for (const f of found) faults.push(`${page.url().slice(origin.length)}: ${f}`)
}

// end closes the browser and ends the process, with the faults if there are any.
export async function end({ browser, faults }, said) {
  await browser.close()
  for (const f of faults) console.error(f)
  console.log(said)
  process.exitCode = faults.length ? 1 : 0
}
