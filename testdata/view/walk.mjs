// Clicks and types its way through the viewer: run, epoch, groups, group,
// trajectory, filter, sort, diff, search:
//
//	node walk.mjs LINK
import assert from 'node:assert/strict'
import { end, inspect, narrow, open, wide } from './browser.mjs'

const view = await open(process.argv[2])
const { page, faults } = view
const heading = () => page.locator('h1').innerText()
const column = (n) => page.locator(`main tbody tr td:nth-child(${n})`).allInnerTexts()
const total = async () => Number((await page.locator('#total').innerText()).match(/^[\d ,.\u202f\u2009]+/)[0].replace(/\D/g, ''))
let steps = 0

// step does something and inspects the page that it leads to.
async function step(name, f, loaded = true) {
  try {
    await f()
    if (loaded) await page.waitForLoadState('load')
    await inspect(view)
    steps++
  } catch (err) {
    faults.push(`${name}, at ${page.url()}: ${err.message}`)
    await end(view, `stopped after ${steps} steps`)
    process.exit(1)
  }
}
const click = (selector, name) => page.locator(selector, name ? { hasText: name } : {}).first().click()

await step('the run has its epochs and rewards', async () => {
  assert.equal(await page.locator('#epochs tbody tr').count(), 2)
  assert.ok(await page.locator('figure img').isVisible())
})
await step('open an epoch', async () => {
  await click('#epochs tbody a', '1')
  await page.waitForURL('**/e/1')
  assert.match(await heading(), /epoch 1/i)
})
await step('open its groups', async () => {
  await page.getByRole('link', { name: 'All groups' }).click()
  await page.waitForURL('**/groups')
  assert.equal(await total(), 12)
})
let spread
await step('sort by spread, and back', async () => {
  const heads = await page.locator('main thead th').allInnerTexts()
  spread = heads.findIndex((h) => h.startsWith('spread')) + 1
  for (let i = 0; i < 2; i++) {
    await click('main thead a', 'spread')
    await page.waitForURL(/sort=/)
    const values = (await column(spread)).map(Number)
    const down = (await page.locator('th[aria-sort]').getAttribute('aria-sort')) === 'descending'
    assert.deepEqual(values, values.toSorted((a, b) => (down ? b - a : a - b)))
    if (i === 0) { await page.goBack(); await click('main thead a', 'spread') }
  }
})
await step('a condition that cannot be read says why', async () => {
  await page.fill('input[name=where]', 'spread >')
  await page.keyboard.press('Enter')
  await page.locator('#problem').waitFor()
})
await step('filter by a condition', async () => {
  await page.fill('input[name=where]', 'spread > 0.7')
  await click('form.filter button')
  await page.waitForURL(/where=spread/)
  const values = (await column(spread)).map(Number)
  assert.ok(values.length > 0 && values.length < 12 && values.every((v) => v > 0.7), `spreads ${values}`)
  assert.equal(await total(), values.length)
})
await step('choose a facet', async () => {
  const url = page.url()
  const facet = page.locator('.facets a', { hasText: 'failed' }).first()
  const count = Number((await facet.innerText()).match(/\d+$/)[0])
  await facet.click()
  await page.waitForURL((u) => u.href !== url)
  assert.equal(await total(), count)
})
await step('the list has first words, and whole ids on hover', async () => {
  await page.locator('#rows:not([hx-get])').waitFor()
  const [group] = await column(1), [question] = await column(2)
  assert.ok(question.length > 5, `the question of ${group} is "${question}"`)
  await page.getByRole('link', { name: 'Trajectories' }).click()
  await page.locator('#rows:not([hx-get])').waitFor()
  const id = page.locator('#rows td').first()
  assert.match(await id.innerText(), /^[0-9a-f]{8}$/)
  assert.match(await id.getAttribute('title'), /^[0-9a-f]{24}$/)
  assert.ok((await column(3)).filter((text) => text.length > 5).length > 50, 'few answers have words')
  const edges = async (selector) => page.locator(selector).first().evaluate((e) => { const box = e.getBoundingClientRect(); return [Math.round(box.left), Math.round(box.right)] })
  assert.deepEqual(await edges('.list'), await edges('form.filter'), 'the list leaves the margin of its page')
  const list = page.locator('.list')
  assert.ok(await list.evaluate((e) => e.scrollWidth <= e.clientWidth + 1), 'the list is wider than a window of 1280 pixels')
})
await step('choose a reward of a component; the address has the query', async () => {
  const facet = page.locator('.facets p', { hasText: 'odd:' }).locator('a', { hasText: /^1 / })
  const count = Number((await facet.innerText()).match(/\d+$/)[0])
  await facet.click()
  await page.waitForURL(/rewards\.odd=1/)
  await click('main thead a', 'reward')
  await page.waitForURL(/sort=-reward/)
  assert.equal(await total(), count)
  await page.goto(page.url())
  assert.equal(await total(), count)
  assert.equal(await page.locator('th[aria-sort=descending]').innerText(), 'reward ↓')
})
await step('open a group and see its members', async () => {
  await page.goto(view.origin + '/d/epoch-1%2Fgroup/groups?where=spread+%3E+0.7')
  await click('main tbody a')
  await page.waitForURL(/\/g\//)
  assert.equal(await page.locator('table').first().locator('tbody tr').count(), 8)
  assert.equal(await page.locator('.answers article').count(), 8)
  assert.ok((await page.locator('.answers .fate-against').count()) > 0, 'no advantage is negative')
})
await step('compare two members', async () => {
  await page.selectOption('select[name=a]', { index: 0 })
  await page.selectOption('select[name=b]', { index: 1 })
  await page.getByRole('button', { name: 'Compare two' }).click()
  await page.waitForURL(/a=.*b=/)
  assert.equal(await page.locator('.side thead th').count(), 3)
})
let answer
await step('open a trajectory of it', async () => {
  await click('.side thead a')
  await page.waitForURL(/\/t\//)
  assert.ok((await page.locator('article.message').count()) >= 3)
  assert.ok(await page.locator('.verdict').innerText())
  const first = async (selector) => (await page.locator(selector).first().boundingBox()).y
  assert.doesNotMatch(await heading(), /[0-9a-f]{24}/)
  assert.ok(await first('.glance') < 200 && await first('#m0') < 500, 'the conversation begins too far down')
  assert.ok(await first('#facts') > await first('#m0'), 'facts are above the conversation')
  answer = await page.locator('article.message.sampled pre').first().innerText()
})
await step('show its tokens, and read one with the arrow keys', async () => {
  await page.getByRole('link', { name: 'show tokens' }).click()
  await page.waitForURL(/tokens=1/)
  await page.locator('.run').first().focus()
  await page.keyboard.press('ArrowRight')
  const label = await page.evaluate(() => document.activeElement.getAttribute('aria-label'))
  assert.match(label ?? '', /-?\d/)
})
await step('go to the next trajectory and back', async () => {
  const url = page.url()
  const sides = page.locator('.sides a')
  if (await sides.count()) {
    await sides.last().click()
    await page.waitForURL((u) => u.href !== url)
    await page.goBack()
  }
})
await step('open the raw row', async () => {
  const href = await page.locator('a[href*="/raw"]').first().getAttribute('href')
  const answer = await page.request.get(new URL(href, page.url()).href)
  assert.equal(answer.status(), 200)
  const row = JSON.parse(await answer.text())
  assert.ok(JSON.stringify(row).includes('trajectory_id'))
})
await step('two answers have their difference marked, and d leads to it', async () => {
  await page.goto(view.origin + '/d/epoch-0%2Fgroup/g/markdown@0')
  assert.deepEqual(await page.locator('.answers mark').allInnerTexts(), ['0', '1'])
  await page.keyboard.press('d')
  assert.ok(await page.evaluate(() => !!document.activeElement.closest('article').querySelector('mark')))
})
await step('Markdown is rendered and inert', async () => {
  await click('.answers a')
  await page.waitForURL(/\/t\//)
  assert.equal(await page.locator('.md h4').innerText(), 'Attempt 0')
  assert.equal(await page.locator('.md td').count(), 2)
  assert.equal(await page.locator('main article img, main article a[href^=javascript], main article [onclick]').count(), 0)
  assert.match(await page.locator('.md').nth(1).innerText(), /javascript:window\.hit=1.*track\.png.*<b onclick/)
  assert.equal(await page.getByText('not sampled').count(), 0)
})
await step('arguments have real lines', async () => {
  assert.match(await page.locator('.call pre').innerText(), /"text":\n {2}│ def f\(\):\n {2}│ {5}return 1\n/)
})
await step('a long result is folded', async () => {
  const result = page.locator('details.result')
  assert.match(await result.locator('summary').innerText(), /^42 lines, 798 bytes/)
  assert.ok(!(await result.locator('pre').isVisible()))
  await result.locator('summary').click()
  assert.ok(await result.locator('pre').isVisible())
})
await step('the text as it is', async () => {
  await page.getByRole('link', { name: 'text as it is' }).click()
  await page.waitForURL(/text=plain/)
  assert.equal(await page.locator('.md').count(), 0)
  assert.match(await page.locator('#m1 pre').first().innerText(), /^# Attempt 0/)
})
await step('the outline of 1,000 messages follows the scroll', async () => {
  await page.goto(view.origin + '/d/epoch-0%2Fgroup/g/long@0')
  await click('.answers a')
  await page.waitForURL(/\/t\//)
  assert.equal(await page.locator('#outline a').count(), 1000)
  assert.equal(await page.locator('article.message').count(), 1000)
  await page.locator('#m700').evaluate((e) => e.scrollIntoView())
  await page.locator('#outline a[href="#m700"][aria-current]').waitFor()
  assert.ok(await page.locator('#outline a[href="#m700"]').evaluate((e) => {
    const box = e.getBoundingClientRect()
    return box.top >= 0 && box.bottom <= innerHeight
  }), 'the current message is not in sight in the outline')
  await page.locator('#outline a[href="#m720"]').click()
  await page.waitForURL(/#m720/)
  await page.locator('#outline a[href="#m720"][aria-current]').waitFor()
})
await step('on a narrow screen the outline is folded above', async () => {
  await page.setViewportSize(narrow)
  assert.ok(!(await page.locator('#outline nav').isVisible()))
  await page.locator('#outline summary').click()
  await page.locator('#outline a[href="#m3"]').click()
  await page.waitForURL(/#m3$/)
  assert.ok(!(await page.locator('#outline nav').isVisible()))
  await page.setViewportSize(wide)
})
await step('compare scores', async () => {
  await page.goto(view.origin + '/diff') // which leads to two that differ
  await page.waitForURL(/a=epoch-0.*b=epoch-0/)
  assert.ok(await page.locator('#movers tbody tr').count())
  await page.selectOption('select[name=a]', 'epoch-0/score')
  await page.selectOption('select[name=b]', 'epoch-0/again')
  await click('form.filter button')
  await page.waitForURL(/a=epoch-0%2Fscore&b=epoch-0%2Fagain/)
  assert.ok((await page.locator('#components tbody tr').count()) >= 2)
  const row = page.locator('#components tbody tr', { hasText: 'long' })
  assert.ok(Number((await row.locator('td').nth(2).innerText()).replace(/\D/g, '')) > 0, 'component long did not move')
})
await step('open what moved most', async () => {
  await click('#movers a')
  await page.waitForURL(/\/t\//)
  assert.ok((await page.locator('article.message').count()) > 0)
})
await step('search', async () => {
  await page.goto(view.origin + '/search?d=epoch-1%2Frollout')
  await page.fill('input[name=q]', answer.trim().split(/\s+/).slice(0, 3).join(' '))
  await page.keyboard.press('Enter')
  await page.locator('#ended').waitFor()
  assert.ok((await page.locator('.finds a').count()) > 0)
  assert.equal(await page.locator('.finds mark').first().innerText(), answer.trim().split(/\s+/).slice(0, 3).join(' '))
  assert.ok(!(await page.locator('#stop').isVisible()))
})
await step('open a find', async () => {
  await click('.finds a')
  await page.waitForURL(/\/t\/.*#m/)
  assert.ok(await page.locator(':target').isVisible())
})
await step('stop a search', async () => {
  const wire = await page.context().newCDPSession(page)
  await wire.send('Network.enable')
  await wire.send('Network.emulateNetworkConditions', { offline: false, latency: 0, downloadThroughput: 4000, uploadThroughput: 100_000 })
  page.goto(view.origin + '/search?d=epoch-0%2Frollout&q=e', { waitUntil: 'commit' }).catch(() => {})
  await page.locator('#stop button').click()
  await page.getByText('Stopped.').waitFor()
  assert.equal(await page.locator('#ended').count(), 0)
  await wire.send('Network.emulateNetworkConditions', { offline: false, latency: 0, downloadThroughput: -1, uploadThroughput: -1 })
}, false) // a page that is stopped never ends loading
await end(view, `${steps} steps`)
